// All tests as one bundle. Without it every Vitest process would transform nearly every source file, which takes longer than most tests.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { cache, root } from '../setup.mjs'
import { isOutsideTests, RESOLVE } from './external-packages.mjs'

const FOLDERS = ['packages', 'apps', 'simulation', 'examples', 'tools', 'bench']
const IS_TEST = /\.test\.tsx?$/
const IS_ELSEWHERE = /(^|\/)node_modules\/|\.browser\.test\.ts$/

/** In the folder of the bundle every test has the path that it has in the checkout. */
export async function bundleTests() {
  const dir = join(cache, 'tests')
  rmSync(dir, { recursive: true, force: true })
  const input = Object.fromEntries(testFiles().map(file => [file.replace(/\.tsx?$/, ''), join(root, file)]))
  const bundle = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external: isOutsideTests,
    resolve: RESOLVE,
    plugins: [OWN_ADDRESS],
  })
  const names = { entryFileNames: '[name].mjs', chunkFileNames: 'chunks/[name]-[hash].mjs' }
  await bundle.write({ dir, format: 'esm', sourcemap: true, ...names })
  await bundle.close()
}

function testFiles() {
  const paths = FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(path => `${folder}/${path}`),
  )
  return paths.filter(path => IS_TEST.test(path) && !IS_ELSEWHERE.test(path))
}

/** Files that a source names relative to itself are found as without the bundle. */
const OWN_ADDRESS = {
  name: 'own-address',
  transform: {
    filter: { id: /\.tsx?$/, code: /\bimport\.meta\.url\b/ },
    handler: (code, id) => ({
      code: code.replace(/\bimport\.meta\.url\b/g, JSON.stringify(pathToFileURL(id).href)),
      map: null,
    }),
  },
}
