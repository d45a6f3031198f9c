#!/usr/bin/env node
// The command line: millrace <command> [options].
import { version } from '../index';

process.stdout.write(`millrace ${version()}\n`);
