// Models of Neura in JavaScript.

export type DType = 'float32' | 'float64' | 'int64' | 'int32' | 'int16' | 'int8' | 'uint8' | 'bool';
export type NumberArray =
  | Float32Array | Float64Array | BigInt64Array | Int32Array | Int16Array | Int8Array | Uint8Array | Uint8ClampedArray;

/** An input or an output: its array has as many numbers as the shape says, the last dimension's side by side. */
export interface Port {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** Bytes of a file .neura, a File or Blob, an address, or, in node, a path. */
export type Source = Uint8Array | ArrayBuffer | ArrayBufferView | Blob | URL | string;

export interface LoadOptions {
  /** Another module than neura.wasm: `small`, its address, its bytes, or what WebAssembly compiled of them. */
  module?: URL | string | Uint8Array | WebAssembly.Module;
}

export interface Model {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** What the file says of itself beside the program. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Of the Neura that wrote the file. */
  readonly version: string;
  /** An array for each input, by name; resolves to an array for each output. Rejects with a NeuraError. */
  run(inputs: Record<string, NumberArray>): Promise<Record<string, NumberArray>>;
  /** Gives its memory back. */
  free(): void;
}

/** An error in Neura's words; its name says which one: ValueError, ShapeError, DTypeError, FormatError, IoError, ... */
export class NeuraError extends Error {}

/** The address of the module that has the operators and dtypes of usual networks alone. */
export const small: URL;

export function load(source: Source, options?: LoadOptions): Promise<Model>;
