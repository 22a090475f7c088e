import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CreateTemplate } from '@lcm/contract/fleet-bodies'
import { CreateDefinition } from '@lcm/contract/lablet-bodies'
import type { BodyOf } from '@lcm/contract/routes'
import { CreateWorker } from '@lcm/contract/worker-bodies'
import { judgeLabFile } from '@lcm/domain/lab/lab-file'
import { isMissing } from '@lcm/domain/text/issue-words'
import { WorkerName } from '@lcm/domain/worker/worker'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { CliError, EXIT } from '../exit-code.ts'
import { complaintsOf } from '../files/schema-errors.ts'
import { readTextFile } from '../files/text-file.ts'
import { yamlTrouble } from '../files/yaml-limits.ts'

/** One thing that a file says there is to be. `given`: only what the file says, nothing that follows from defaults. */
export type Wanted =
  | Saying<'Template', 'createTemplate'>
  | Saying<'Definition', 'createDefinition'>
  | Saying<'Worker', 'createWorker'>

interface Saying<K extends string, R extends 'createTemplate' | 'createDefinition' | 'createWorker'> {
  readonly kind: K
  readonly name: string
  readonly given: Partial<BodyOf<R>>
  /** What a new one is made from; null where that lacks something. */
  readonly spec: BodyOf<R> | null
  /** What it would lack if it were new. */
  readonly lacks: readonly string[]
}

/** One that was found is called as its owner pleases; the API refuses to make another such. */
const WORKER = CreateWorker.extend({ name: WorkerName.optional() })

export type Kind = Wanted['kind']
const KINDS: readonly Kind[] = ['Template', 'Definition', 'Worker']

/** Text with where it came from, for messages and for what it refers to. */
export interface Source {
  readonly name: string
  readonly text: string
  /** Files that it names are looked for here. */
  readonly folder: string
  /** Null where it is no file. */
  readonly path: string | null
}

const READABLE = /\.(ya?ml|json)$/

/** A file, all YAML and JSON files of a folder in the order of their names, or `-` for standard input. */
export async function readSources(place: string, readInput: (() => Promise<string>) | null): Promise<Source[]> {
  if (place === '-') {
    if (readInput === null)
      throw new CliError(EXIT.usage, 'nothing comes from standard input: name a file with -f, or pipe one in')
    return [
      { name: 'standard input', text: await readInput().catch(unreadable('standard input')), folder: '.', path: null },
    ]
  }
  const found = await stat(place).catch(unreadable(place))
  if (!found.isDirectory()) return [await sourceAt(place)]
  const names = (await readdir(place)).filter(name => READABLE.test(name)).sort()
  if (names.length === 0) throw new CliError(EXIT.failed, `${place} holds no YAML or JSON file: name another with -f`)
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
    `${place} can't be read (${error.code}): name a YAML or JSON file, or a folder of them, with -f`,
  )
}

/** Everything that the sources want. All that is wrong with them is told at once. */
export async function readWanted(sources: readonly Source[]): Promise<Wanted[]> {
  const parsed = sources.map(source => ({ source, documents: parsedIn(source) }))
  const named = new Set(parsed.flatMap(({ source, documents }) => topologiesNamedIn(source, documents)))
  const isNamed = ({ source: { path }, documents }: (typeof parsed)[number]) =>
    path !== null && named.has(path) && !documents.some(({ value }) => isFields(value) && 'kind' in value)
  const said = parsed.filter(each => !isNamed(each))
  const read = (await Promise.all(said.map(({ source, documents }) => wantedOf(source, documents)))).flat()
  const wanted = read.filter(each => typeof each !== 'string')
  const wrong = [...read.filter(each => typeof each === 'string'), ...repeated(wanted)]
  if (wrong.length > 0) throw new CliError(EXIT.failed, 'nothing was done: mend these and repeat', wrong)
  if (wanted.length === 0)
    throw new CliError(EXIT.failed, `there is nothing in ${placeOf(sources)}: each document needs a kind and a name`)
  return wanted.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

const placeOf = ([first, ...others]: readonly Source[]): string =>
  first !== undefined && others.length === 0 ? first.name : 'these files'

const repeated = (wanted: readonly Wanted[]): string[] =>
  wanted
    .filter((one, at) => wanted.findIndex(other => other.kind === one.kind && other.name === one.name) < at)
    .map(({ kind, name }) => `${kind} ${name}: it is said twice`)

interface Parsed {
  /** Null where there is none. */
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

/** Aliases may lead nowhere, or to more than any machine holds. */
function valueIn(document: { toJS(): unknown }): Parsed {
  try {
    return { value: document.toJS(), error: null }
  } catch (error) {
    return { value: null, error: firstLine(error instanceof Error ? error.message : String(error)) }
  }
}

const firstLine = (text: string): string => text.split('\n')[0] ?? ''

/** They are no documents of their own, wherever they lie. */
const topologiesNamedIn = ({ folder }: Source, documents: readonly Parsed[]): string[] =>
  documents.flatMap(({ value }) =>
    isFields(value) && typeof value.topology_file === 'string' ? [resolve(folder, value.topology_file)] : [],
  )

/** What is wrong is a line of text. */
async function wantedOf(source: Source, documents: readonly Parsed[]): Promise<(Wanted | string)[]> {
  const wanted = documents.map(({ value, error }, index) => {
    const place = documents.length === 1 ? source.name : `${source.name}, document ${index + 1}`
    if (error !== null) return [`${place}: ${error}`]
    return value === null ? [] : wantedIn(value, place, source.folder)
  })
  return (await Promise.all(wanted)).flat()
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function wantedIn(value: unknown, place: string, folder: string): Promise<(Wanted | string)[]> {
  if (!isFields(value)) return [`${place}: it is no list of fields`]
  const { kind: said, ...fields } = value
  const kind = said ?? (looksLikeTemplate(fields) ? 'Template' : undefined)
  switch (kind) {
    case 'Template':
      return asWanted('Template', CreateTemplate, without(fields, OWNED), place)
    case 'Definition':
      return asDefinition(fields, place, folder)
    case 'Worker':
      return typeof fields.name === 'string'
        ? asWanted('Worker', WORKER, fields, place)
        : [`${place}: name: a worker needs one here`]
    default:
      if (said === undefined && isFields(fields.lab)) return [`${place}: ${A_LAB}`]
      return [`${place}: kind: it must be one of ${KINDS.join(', ')}`]
  }
}

const A_LAB =
  'it is a lab of CML: name it as topology_file in a document of kind Definition, or use `lcm create definition -f`'

/** As the files of deploy/templates are. */
const looksLikeTemplate = (fields: Fields): boolean => 'instance_types' in fields && 'ami_name_pattern' in fields

/** What LCM itself says of a template, so that what `lcm get template -o yaml` prints can be applied again. */
const OWNED = ['id', 'version', 'created_at', 'updated_at', 'has_user_data', 'secret_refs', 'seeded_from_sha256']

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** A topology may be text, stand in a file of its own, or be written out as part of the document. */
async function withTopology({ topology_file, ...fields }: Fields, folder: string): Promise<Fields | string> {
  if (typeof topology_file === 'string') {
    const file = resolve(folder, topology_file)
    const read = await readTextFile(file).catch((error: NodeJS.ErrnoException) => error)
    if (typeof read === 'string') return { ...fields, topology: read }
    return `topology_file: ${file} can't be read (${read.code}): paths begin at the folder of this file`
  }
  return isFields(fields.topology) ? { ...fields, topology: stringify(fields.topology) } : fields
}

/** With the verdict on its topology that the API would give, before anything is done. */
async function asDefinition(said: Fields, place: string, folder: string): Promise<(Wanted | string)[]> {
  const fields = await withTopology(said, folder)
  if (typeof fields === 'string') return [`${place}: ${fields}`]
  const wanted = asWanted('Definition', CreateDefinition, fields, place)
  const { topology } = fields
  if (typeof topology !== 'string') return wanted
  return [...wanted, ...topologyErrors(topology).map(line => `${place}: topology: ${line}`)]
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
    return [String(error).split('\n')[0] ?? 'it is no YAML']
  }
}

function asWanted(
  kind: Kind,
  schema: typeof CreateTemplate | typeof CreateDefinition | typeof WORKER,
  fields: Fields,
  place: string,
): (Wanted | string)[] {
  const result = schema.safeParse(fields)
  const issues = result.error?.issues ?? []
  const lacks = issues.flatMap(issue => (issue.path.length === 1 && isMissing(issue) ? issue.path.map(String) : []))
  const mayLack = issues.length === lacks.length && !lacks.includes('name')
  const said = result.success || !mayLack ? result : PARTS[kind].safeParse(fields)
  if (!said.success) return complaintsOf(said.error.issues, kind).map(line => `${place}: ${line}`)
  const given = Object.fromEntries(Object.entries(said.data).filter(([name]) => name in fields))
  // The schema that fits the kind has just parsed it.
  return [{ kind, name: String(said.data.name), given, spec: result.data ?? null, lacks } as Wanted]
}

/** Of what exists already a file need not say everything. */
const PARTS = { Template: CreateTemplate.partial(), Definition: CreateDefinition, Worker: WORKER.partial() }
