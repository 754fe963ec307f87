// Emscripten 3.1.6 takes a fetch for a browser's; node's, which came later, opens no paths.
globalThis.fetch = undefined;
// Programs see the variables of the process.
Module['preRun'] = () => { if (typeof ENV !== 'undefined') Object.assign(ENV, process.env); };
