// zod tries `new Function` once to see whether it may. The content security policy refuses, which every browser reports as
// a violation. Imported before anything that imports zod, this tells zod not to try.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })
