// Prints the trace that a WebAssembly build computes: node wasm.mjs MODULE [toolkit]
import { readFileSync } from "node:fs";

const [path, part] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(path), {});
const { memory, trace, trace_length } = instance.exports;
const at = trace(part === "toolkit" ? 1 : 0) >>> 0;
const bytes = new Uint8Array(memory.buffer, at, trace_length());
process.stdout.write(new TextDecoder().decode(bytes));
