// Bundles the command and the console into the folder given. Called by setup.mjs, which knows when that is needed.
import { chmodSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { build } from 'vite'
import { isInstalled } from './bundles/is-installed.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2])
const entry = join(root, 'apps/lcm/src/main.ts')

try {
  await bundleCommand()
  await buildConsole()
} catch (error) {
  // The bundlers put file, line and a drawing into the message; their own stack adds nothing.
  console.error(error.message)
  process.exitCode = 1
}

async function bundleCommand() {
  const bundle = await rolldown({ cwd: root, input: { lcm: entry }, platform: 'node', external: isInstalled })
  // An entry that brings its own first line keeps it; a second one would be a syntax error.
  const shebang = readFileSync(entry, 'utf8').startsWith('#!') ? '' : '#!/usr/bin/env node'
  // All chunks lie flat beside the entry, so `import.meta.dirname` is `dist` in every one of them.
  await bundle.write({
    dir: out,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    sourcemap: true,
    banner: chunk => (chunk.facadeModuleId === entry ? shebang : ''),
  })
  await bundle.close()
  chmodSync(join(out, 'lcm.mjs'), 0o755)
}

async function buildConsole() {
  await build({
    root: join(root, 'apps/console'),
    logLevel: 'warn',
    build: { outDir: join(out, 'console'), emptyOutDir: true },
  })
}
