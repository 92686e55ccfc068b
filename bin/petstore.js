#!/usr/bin/env node
// Hands over to the built program.
import '../dist/main.js';
