# Runs one command in a pseudo-terminal of a given size, types when a text has appeared, and tells how it left the terminal.
import base64, fcntl, json, os, select, signal, struct, sys, termios, time

spec = json.loads(sys.argv[1])
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", spec["rows"], spec["columns"], 0, 0))
piped, pipe = os.pipe()
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(pipe if fd == 1 and spec["stdoutPiped"] else slave, fd)
    os.closerange(3, 64)
    os.chdir(spec["cwd"])
    os.execve(spec["command"][0], spec["command"], spec["env"])
os.close(pipe)

screen, stdout, seen, steps = b"", b"", 0, list(spec["steps"])
last, code, ended = time.monotonic(), None, None
deadline = last + spec["seconds"]
while True:
    ready, _, _ = select.select([master, piped], [], [], 0.02)
    if master in ready:
        screen += os.read(master, 65536)
    if piped in ready:
        stdout += os.read(piped, 65536)
    if steps and steps[0]["after"].encode() in screen[seen:]:
        step = steps.pop(0)
        seen = screen.index(step["after"].encode(), seen) + len(step["after"].encode())
        last = time.monotonic()
        if "send" in step:
            os.write(master, step["send"].encode())
        if "signal" in step:
            os.kill(pid, getattr(signal, step["signal"]))
    if code is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code, ended = os.waitstatus_to_exitcode(status), time.monotonic()
    elif master not in ready and piped not in ready or len(screen) > 5_000_000:
        break
    elif ready == [piped] and not select.select([master], [], [], 0)[0]:
        break
    if time.monotonic() > deadline or len(screen) > 5_000_000:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        code = "flood" if len(screen) > 5_000_000 else "timeout"
        ended = time.monotonic()
        break

flags = termios.tcgetattr(slave)[3]
wanted = termios.ICANON | termios.ECHO | termios.ISIG
print(json.dumps({
    "code": code,
    "screen": base64.b64encode(screen).decode(),
    "stdout": base64.b64encode(stdout).decode(),
    "cooked": flags & wanted == wanted,
    "stepsLeft": len(steps),
    "msSinceLastStep": round((ended - last) * 1000),
}))
