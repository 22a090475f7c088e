import { createHash } from 'node:crypto'
import { TOPOLOGY_CHARS_MAX } from '@lcm/domain/definition/lablet-definition'
import { ContentError } from './content-sources.ts'
import { isZip, type ZipEntry, zipEntries } from './zip-entries.ts'

/** File names that are preferred as the topology. */
const TOPOLOGY_NAME = /^(topology|cml)\.ya?ml$/
const YAML_NAME = /\.ya?ml$/

export interface ContentPackage {
  readonly topology: string
  readonly package_sha256: string
}

/** The topology in a package, which is a zip or the YAML itself. The API validates it. */
export function readPackage(bytes: Buffer): ContentPackage {
  const package_sha256 = createHash('sha256').update(bytes).digest('hex')
  const topology = textOf(isZip(bytes) ? topologyEntry(zipEntries(bytes)).read() : bytes)
  return { topology, package_sha256 }
}

function topologyEntry(entries: readonly ZipEntry[]): ZipEntry {
  const atTop = entries.filter(({ name }) => !name.includes('/') && YAML_NAME.test(name))
  const named = atTop.filter(({ name }) => TOPOLOGY_NAME.test(name))
  const [only, ...others] = named.length > 0 ? named : atTop
  if (only === undefined) throw new ContentError('the zip has no .yaml or .yml at its top')
  if (others.length > 0) {
    const names = [only, ...others].map(({ name }) => name).join(', ')
    throw new ContentError(`the zip has several topologies (${names.slice(0, 200)}); call one of them topology.yaml`)
  }
  return only
}

function textOf(bytes: Buffer): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ContentError('the topology is not UTF-8 text', { cause })
  }
  if (text.includes('\0')) throw new ContentError('the topology is not text')
  if (text.length > TOPOLOGY_CHARS_MAX)
    throw new ContentError(`the topology is longer than ${TOPOLOGY_CHARS_MAX} characters`)
  if (text.trim() === '') throw new ContentError('the topology is empty')
  return text
}
