// zod probes `new Function` once. The content security policy blocks it and browsers report a violation.
// This module must be imported before zod, so that zod skips the probe.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })
