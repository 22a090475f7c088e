// Bundles the command and the console into the folder given. Called by setup.mjs, which knows when that is needed.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { build } from 'vite'
import { isOutsideProduct, RESOLVE } from './bundles/external-packages.mjs'
import { thirdPartyLicenses } from './bundles/third-party-licenses.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2])
const entry = join(root, 'apps/lcm/src/main.ts')
const LICENSES = 'third-party-licenses.txt'

try {
  const modules = [...(await bundleCommand()), ...(await buildConsole())]
  writeFileSync(join(out, LICENSES), thirdPartyLicenses(modules))
} catch (error) {
  // The bundlers put file, line and a drawing into the message; their own stack adds nothing.
  console.error(error.message)
  process.exitCode = 1
}

/** Resolves with the modules in the bundle. */
async function bundleCommand() {
  const input = { lcm: entry }
  const bundle = await rolldown({ cwd: root, input, platform: 'node', external: isOutsideProduct, resolve: RESOLVE })
  // An entry that brings its own first line keeps it; a second one would be a syntax error.
  const shebang = readFileSync(entry, 'utf8').startsWith('#!') ? '' : '#!/usr/bin/env node'
  // All chunks lie flat beside the entry, so `import.meta.dirname` is `dist` in every one of them.
  const { output } = await bundle.write({
    dir: out,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    sourcemap: true,
    banner: chunk => (chunk.facadeModuleId === entry ? shebang : ''),
  })
  await bundle.close()
  chmodSync(join(out, 'lcm.mjs'), 0o755)
  return modulesOf(output)
}

/** Resolves with the modules in the console. */
async function buildConsole() {
  const { output } = await build({
    root: join(root, 'apps/console'),
    logLevel: 'warn',
    build: { outDir: join(out, 'console'), emptyOutDir: true },
  })
  return modulesOf(output)
}

function modulesOf(output) {
  return output.flatMap(({ moduleIds = [] }) => moduleIds)
}
