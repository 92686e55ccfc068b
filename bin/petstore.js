#!/usr/bin/env node
// Hands over to the built program; where Node can (22.8 and newer), compiled code is kept in the user's own cache folder.
import * as nodeModule from 'node:module';
import { join } from 'node:path';

const { env } = process;
const base = env.XDG_CACHE_HOME?.startsWith('/') ? env.XDG_CACHE_HOME : env.HOME && join(env.HOME, '.cache');
const cache = process.platform === 'win32' ? env.LOCALAPPDATA : base;
// A cache in a folder that others can write would let them run code here: without a home there is none.
if (cache && !env.NODE_COMPILE_CACHE) nodeModule.enableCompileCache?.(join(cache, 'petstore'));

await import('../dist/main.js');
