import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const { thirdPartyLicenses } = await import(new URL('third-party-licenses.mjs', import.meta.url).href)

const root = mkdtempSync(join(tmpdir(), 'lcm-licenses-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): string {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** Returns the path of a module of the package. */
function install(name: string, manifest: object, files: Readonly<Record<string, string>> = {}): string {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.2.3', license: 'MIT', ...manifest }))
  for (const [file, text] of Object.entries(files)) write(`node_modules/${name}/${file}`, text)
  return write(`node_modules/${name}/lib/deep/index.js`, '')
}

it('contains the licenses of the packages of the modules and of their dependencies, each text once', () => {
  const outer = install('@scope/outer', { dependencies: { inlined: '1' } }, { LICENSE: 'The same words.' })
  const twin = install('twin', {}, { 'LICENSE.md': 'The same words.' })
  install('inlined', { dependencies: { deeper: '1' } }, { 'license.txt': 'By the inlined.' })
  install('deeper', {}, { COPYING: 'By the deeper.' })
  install('unrelated', {}, { LICENSE: 'By the unrelated.' })
  const nested = install('with-parts', {}, { LICENSE: 'By the whole.', 'lib/LICENSE': 'By a part.' })
  const text = thirdPartyLicenses([outer, twin, nested, `\0${twin}`, join(root, 'src/own.ts')])
  expect(text).toContain('@scope/outer 1.2.3 (MIT)\ntwin 1.2.3 (MIT)\n\nThe same words.')
  expect(text.match(/The same words/g)).toHaveLength(1)
  for (const part of ['By the inlined.', 'By the deeper.', 'By the whole.\n\nBy a part.']) expect(text).toContain(part)
  expect(text).not.toMatch(/unrelated|own\.ts/)
})

it('contains the terms of a package that names its license in its manifest only', () => {
  const bare = install('bare', { author: { name: 'Its makers' } })
  const other = install('other', { license: 'Apache-2.0', author: 'Other makers' })
  const text = thirdPartyLicenses([bare, other])
  expect(text).toMatch(/bare 1\.2\.3 \(MIT\)\n\nCopyright \(c\) Its makers\n\nPermission is hereby granted/)
  expect(text).toContain('By Other makers, Apache-2.0')
})
