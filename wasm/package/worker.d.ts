// The same in a thread of its own.

export { NeuraError, small, type DType, type LoadOptions, type Model, type NumberArray, type Port, type Source } from './index.js';
import type { LoadOptions, Model, Source } from './index.js';
export function load(source: Source, options?: LoadOptions): Promise<Model>;
