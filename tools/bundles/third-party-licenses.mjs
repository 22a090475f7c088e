// The licenses of the packages in a bundle, which ask to be passed on with it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const LICENSE_FILE = /^(licen[cs]e|notice|copying)(\.|-|$)/i
const RULE = `\n\n${'-'.repeat(80)}\n\n`

/** One text for the packages that the modules belong to, given the modules' absolute paths. */
export function thirdPartyLicenses(moduleIds) {
  const folders = new Set(moduleIds.flatMap(id => packageFolderOf(id) ?? []))
  const titlesByText = new Map()
  for (const { title, text } of [...folders].sort().map(licenseOf))
    titlesByText.set(text, [...(titlesByText.get(text) ?? []), title])
  const parts = [...titlesByText].map(([text, titles]) => `${[...new Set(titles)].join('\n')}\n\n${text}`)
  return `${['This folder contains code of these packages.', ...parts].join(RULE)}\n`
}

/** Installed package that a module is part of; undefined for our own. */
const packageFolderOf = id => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'))?.[1]

function licenseOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const texts = readdirSync(folder)
    .filter(file => LICENSE_FILE.test(file))
    .map(file => readFileSync(join(folder, file), 'utf8').trim())
  const text = texts.length > 0 ? texts.join('\n\n') : `By ${author?.name ?? author ?? name}.`
  return { title: `${name} ${version} (${license})`, text }
}
