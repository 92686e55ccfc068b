// The only file that touches process: world in, exit code out.
export {};
