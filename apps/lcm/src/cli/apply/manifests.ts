import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CreateDefinition } from '@lcm/contract/definition'
import { CreateLicensePool } from '@lcm/contract/license/license-pool'
import type { BodyOf } from '@lcm/contract/routes'
import { CreateTemplate } from '@lcm/contract/template'
import { CreateWorker } from '@lcm/contract/worker'
import { judgeLabFile } from '@lcm/domain/lab/lab-file'
import { PooledProduct } from '@lcm/domain/license/license-pool'
import { isMissing } from '@lcm/domain/text/schema-issue-words'
import { WorkerName } from '@lcm/domain/worker/worker'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { CliError, EXIT } from '../cli-error.ts'
import { complaintsOf } from '../files/schema-errors.ts'
import { readTextFile } from '../files/text-file.ts'
import { yamlTrouble } from '../files/yaml-limits.ts'

/** One document of a file. `given` has only the fields in the file, without defaults. */
export type Manifest =
  | Saying<'Template', 'createTemplate'>
  | Saying<'Definition', 'createDefinition'>
  | Saying<'LicensePool', 'createLicensePool'>
  | Saying<'Worker', 'createWorker'>

interface Saying<
  K extends string,
  R extends 'createTemplate' | 'createDefinition' | 'createLicensePool' | 'createWorker',
> {
  readonly kind: K
  readonly name: string
  readonly given: Partial<BodyOf<R>>
  /** The complete body to create the resource; null if required fields are missing. */
  readonly spec: BodyOf<R> | null
  /** Required fields that are missing. */
  readonly lacks: readonly string[]
}

/** Allows the names of discovered workers, which the API would not accept for a new worker. */
const WORKER = CreateWorker.extend({ name: WorkerName.optional() })

export type Kind = Manifest['kind']
const KINDS: readonly Kind[] = ['LicensePool', 'Template', 'Definition', 'Worker']

/** The name of a license pool is its product. Its token is in a file of its own, as secrets belong in no document. */
const LICENSE_POOL = CreateLicensePool.omit({ product: true }).extend({ name: PooledProduct })

/** Text of a document file, with its location for messages and relative paths. */
export interface Source {
  readonly name: string
  readonly text: string
  /** Relative paths in the document start here. */
  readonly folder: string
  /** Null for standard input. */
  readonly path: string | null
}

const READABLE = /\.(ya?ml|json)$/

/** Reads a file, all YAML and JSON files of a folder in the order of their names, or standard input for `-`. */
export async function readSources(place: string, readInput: (() => Promise<string>) | null): Promise<Source[]> {
  if (place === '-') {
    if (readInput === null)
      throw new CliError(EXIT.usage, 'standard input is empty', 'use -f with a file, or pipe one in')
    return [
      { name: 'standard input', text: await readInput().catch(unreadable('standard input')), folder: '.', path: null },
    ]
  }
  const found = await stat(place).catch(unreadable(place))
  if (!found.isDirectory()) return [await sourceAt(place)]
  const names = (await readdir(place)).filter(name => READABLE.test(name)).sort()
  if (names.length === 0)
    throw new CliError(EXIT.failed, `${place} contains no YAML or JSON files`, 'use -f with another folder')
  return Promise.all(names.map(name => sourceAt(join(place, name))))
}

const sourceAt = async (file: string): Promise<Source> => ({
  name: file,
  text: await readTextFile(file).catch(unreadable(file)),
  folder: dirname(resolve(file)),
  path: resolve(file),
})

const unreadable = (place: string) => (error: NodeJS.ErrnoException) => {
  throw new CliError(
    EXIT.failed,
    `${place} can't be read (${error.code})`,
    'use -f with a YAML or JSON file, or a folder of such files',
  )
}

/** Parses all sources. Reports all of their errors together. */
export async function readManifests(sources: readonly Source[]): Promise<Manifest[]> {
  const parsed = sources.map(source => ({ source, documents: parsedIn(source) }))
  const named = new Set(parsed.flatMap(({ source, documents }) => topologiesNamedIn(source, documents)))
  const isNamed = ({ source: { path }, documents }: (typeof parsed)[number]) =>
    path !== null && named.has(path) && !documents.some(({ value }) => isFields(value) && 'kind' in value)
  const remaining = parsed.filter(each => !isNamed(each))
  const read = (await Promise.all(remaining.map(({ source, documents }) => manifestsOf(source, documents)))).flat()
  const manifests = read.filter(each => typeof each !== 'string')
  const wrong = [...read.filter(each => typeof each === 'string'), ...repeated(manifests)]
  if (wrong.length > 0) throw new CliError(EXIT.failed, 'nothing was changed', 'fix these errors and try again', wrong)
  if (manifests.length === 0)
    throw new CliError(
      EXIT.failed,
      `no documents found in ${placeOf(sources)}`,
      'each document needs a kind and a name',
    )
  return manifests.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

const placeOf = ([first, ...others]: readonly Source[]): string =>
  first !== undefined && others.length === 0 ? first.name : 'these files'

const repeated = (manifests: readonly Manifest[]): string[] =>
  manifests
    .filter((one, at) => manifests.findIndex(other => other.kind === one.kind && other.name === one.name) < at)
    .map(({ kind, name }) => `${kind} ${name}: defined twice`)

interface Parsed {
  /** Null if the document is empty or invalid. */
  readonly value: unknown
  readonly error: string | null
}

function parsedIn({ text }: Source): Parsed[] {
  const trouble = yamlTrouble(text)
  if (trouble !== null) return [{ value: null, error: trouble }]
  const documents = parseAllDocuments(text, { uniqueKeys: true })
  if (!Array.isArray(documents)) return []
  return documents.map(document => {
    const [error] = document.errors
    return error === undefined ? valueIn(document) : { value: null, error: firstLine(error.message) }
  })
}

/** Catches errors of aliases that are undefined or expand too far. */
function valueIn(document: { toJS(): unknown }): Parsed {
  try {
    return { value: document.toJS(), error: null }
  } catch (error) {
    return { value: null, error: firstLine(error instanceof Error ? error.message : String(error)) }
  }
}

const firstLine = (text: string): string => text.split('\n')[0] ?? ''

/** Paths of all files used as topology_file; these are not documents. */
const topologiesNamedIn = ({ folder }: Source, documents: readonly Parsed[]): string[] =>
  documents.flatMap(({ value }) =>
    isFields(value) && typeof value.topology_file === 'string' ? [resolve(folder, value.topology_file)] : [],
  )

/** Returns documents, and errors as lines of text. */
async function manifestsOf(source: Source, documents: readonly Parsed[]): Promise<(Manifest | string)[]> {
  const manifests = documents.map(({ value, error }, index) => {
    const place = documents.length === 1 ? source.name : `${source.name}, document ${index + 1}`
    if (error !== null) return [`${place}: ${error}`]
    return value === null ? [] : manifestsIn(value, place, source.folder)
  })
  return (await Promise.all(manifests)).flat()
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function manifestsIn(value: unknown, place: string, folder: string): Promise<(Manifest | string)[]> {
  if (!isFields(value)) return [`${place}: expected fields, such as kind and name`]
  const { kind: givenKind, ...fields } = value
  const kind = givenKind ?? (hasTemplateFields(fields) ? 'Template' : undefined)
  switch (kind) {
    case 'Template':
      return asManifest('Template', CreateTemplate, without(fields, OWNED), place)
    case 'Definition':
      return asDefinition(fields, place, folder)
    case 'LicensePool':
      return asLicensePool(fields, place, folder)
    case 'Worker':
      return typeof fields.name === 'string'
        ? asManifest('Worker', WORKER, fields, place)
        : [`${place}: name: required`]
    default:
      if (givenKind === undefined && isFields(fields.lab)) return [`${place}: ${A_LAB}`]
      return [`${place}: kind: must be one of ${KINDS.join(', ')}`]
  }
}

const A_LAB =
  'this is a CML topology: refer to it as topology_file in a document of kind Definition, or use `lcm create definition -f`'

/** Recognizes the files of deploy/templates, which have no kind. */
const hasTemplateFields = (fields: Fields): boolean => 'instance_types' in fields && 'ami_name_pattern' in fields

/** Template fields set by LCM. They are ignored, so that the output of `lcm get template -o yaml` can be applied. */
const OWNED = ['id', 'version', 'created_at', 'updated_at', 'has_user_data', 'secret_refs', 'seeded_from_sha256']

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** Converts topology_file or an inline topology object to text. */
async function withTopology({ topology_file, ...fields }: Fields, folder: string): Promise<Fields | string> {
  if (typeof topology_file === 'string') {
    const file = resolve(folder, topology_file)
    const read = await readTextFile(file).catch((error: NodeJS.ErrnoException) => error)
    if (typeof read === 'string') return { ...fields, topology: read }
    return `topology_file: ${file} can't be read (${read.code}): paths are relative to this document`
  }
  return isFields(fields.topology) ? { ...fields, topology: stringify(fields.topology) } : fields
}

/** Checks the topology as the API would, before anything is changed. */
async function asDefinition(document: Fields, place: string, folder: string): Promise<(Manifest | string)[]> {
  const fields = await withTopology(document, folder)
  if (typeof fields === 'string') return [`${place}: ${fields}`]
  const manifests = asManifest('Definition', CreateDefinition, fields, place)
  const { topology } = fields
  if (typeof topology !== 'string') return manifests
  return [...manifests, ...topologyErrors(topology).map(line => `${place}: topology: ${line}`)]
}

async function asLicensePool(document: Fields, place: string, folder: string): Promise<(Manifest | string)[]> {
  const { token_file, token, ...fields } = document
  if (token !== undefined) return [`${place}: token: put it into a file of its own, and name that as token_file`]
  if (token_file === undefined)
    return asManifest('LicensePool', LICENSE_POOL, fields, place).map(each =>
      typeof each === 'string'
        ? each
        : { ...each, lacks: each.lacks.map(field => (field === 'token' ? 'token_file' : field)) },
    )
  const file = resolve(folder, String(token_file))
  const read = await readTextFile(file).catch((error: NodeJS.ErrnoException) => error)
  if (typeof read === 'string') return asManifest('LicensePool', LICENSE_POOL, { ...fields, token: read.trim() }, place)
  return [`${place}: token_file: ${file} can't be read (${read.code}): paths are relative to this document`]
}

const ERRORS_MAX = 10

function topologyErrors(topology: string): string[] {
  const trouble = yamlTrouble(topology)
  if (trouble !== null) return [trouble]
  try {
    const verdict = judgeLabFile(parse(topology, { uniqueKeys: false, logLevel: 'error' }))
    if (verdict.isGood) return []
    return complaintsOf(verdict.issues.slice(0, ERRORS_MAX), '(all)')
  } catch (error) {
    return [String(error).split('\n')[0] ?? 'invalid YAML']
  }
}

function asManifest(
  kind: Kind,
  schema: typeof CreateTemplate | typeof CreateDefinition | typeof LICENSE_POOL | typeof WORKER,
  fields: Fields,
  place: string,
): (Manifest | string)[] {
  const result = schema.safeParse(fields)
  const issues = result.error?.issues ?? []
  const lacks = issues.flatMap(issue => (issue.path.length === 1 && isMissing(issue) ? issue.path.map(String) : []))
  const mayLack = issues.length === lacks.length && !lacks.includes('name')
  const checked = result.success || !mayLack ? result : PARTS[kind].safeParse(fields)
  if (!checked.success) return complaintsOf(checked.error.issues, kind).map(line => `${place}: ${line}`)
  const given = Object.fromEntries(Object.entries(checked.data).filter(([name]) => name in fields))
  // `given` and `spec` were parsed by the schema of this kind.
  return [{ kind, name: String(checked.data.name), given, spec: result.data ?? null, lacks } as Manifest]
}

/** Schemas for existing resources, where fields may be omitted. */
const PARTS = {
  LicensePool: LICENSE_POOL.partial(),
  Template: CreateTemplate.partial(),
  Definition: CreateDefinition,
  Worker: WORKER.partial(),
}
