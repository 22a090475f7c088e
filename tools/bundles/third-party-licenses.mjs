// The licenses of the packages in a bundle, which ask to be passed on with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const LICENSE_FILE = /^(licen[cs]e|notice|copying)(\.|-|$)/i
const PACKAGE_FOLDER = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/
const RULE = `\n\n${'-'.repeat(80)}\n\n`

/**
 * One text for the packages that the modules belong to, given the modules' absolute paths. Their dependencies are listed too: some
 * packages contain them already bundled.
 */
export function thirdPartyLicenses(moduleIds) {
  const licenseFolders = new Map()
  for (const id of moduleIds) {
    const root = PACKAGE_FOLDER.exec(id)?.[1]
    if (root === undefined) continue
    const folders = licenseFolders.get(root) ?? new Set([root])
    for (let folder = dirname(id.replace(/^\0/, '')); folder.length > root.length; folder = dirname(folder))
      folders.add(folder)
    licenseFolders.set(root, folders)
  }
  for (const root of licenseFolders.keys())
    for (const folder of dependenciesOf(root))
      if (!licenseFolders.has(folder)) licenseFolders.set(folder, new Set([folder]))
  const titlesByText = new Map()
  for (const [root, folders] of [...licenseFolders].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { title, text } = licenseOf(root, [...folders])
    titlesByText.set(text, (titlesByText.get(text) ?? new Set()).add(title))
  }
  const parts = [...titlesByText].map(([text, titles]) => `${[...titles].join('\n')}\n\n${text}`)
  return `${['This folder contains code of these packages.', ...parts].join(RULE)}\n`
}

const manifestOf = folder => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Folders of the installed dependencies, found as Node does: in the package's own folder first, then outwards. */
function dependenciesOf(root) {
  return Object.keys(manifestOf(root).dependencies ?? {}).flatMap(name => {
    for (let folder = root; folder !== dirname(folder); folder = dirname(folder)) {
      const candidate = join(folder, 'node_modules', name)
      if (existsSync(join(candidate, 'package.json'))) return [candidate]
    }
    return []
  })
}

function licenseOf(root, folders) {
  const { name, version, license, author } = manifestOf(root)
  const files = folders.flatMap(folder =>
    readdirSync(folder).flatMap(file => (LICENSE_FILE.test(file) ? [join(folder, file)] : [])),
  )
  const texts = files.map(file => readFileSync(file, 'utf8').trim())
  const holder = author?.name ?? author ?? name
  if (texts.length === 0)
    texts.push(license === 'MIT' ? mit(holder) : `By ${holder}, ${license}: https://spdx.org/licenses/`)
  return { title: `${name} ${version} (${license})`, text: texts.join('\n\n') }
}

/** For packages that name the license in their manifest only. */
const mit = holder => `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
