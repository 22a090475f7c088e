import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { Change, Collection, Document, Durability, Kind, NewEntry, Query, WriteResult } from '../store.ts'
import type { GroupCommit } from './group-commit.ts'

interface CommitHooks {
  /** Called inside the transaction that makes the change, like `enter`. */
  record(change: Change): void
  enter(change: Change, entries: readonly NewEntry[]): void
}

/** Thrown inside a transaction to roll it back. */
class Refusal extends Error {
  readonly result: WriteResult
  constructor(result: WriteResult) {
    super('refused')
    this.result = result
  }
}

const OK: WriteResult = { ok: true }
const STALE: WriteResult = { ok: false, reason: 'stale' }
const ID_TAKEN: WriteResult = { ok: false, reason: 'taken', field: 'id' }

export function sqliteCollection<T extends Document>(
  kind: Kind<T>,
  { batch, hooks, prepared }: { batch: GroupCommit; hooks: CommitHooks; prepared: StatementCache },
): Collection<T> {
  const sql = statements(prepared)
  const facets = sqliteFacets(prepared, kind)
  const reader = documentReader(prepared, kind)

  function claimValues(document: T): void {
    for (const [field, read] of Object.entries(kind.unique ?? {})) {
      const value = read(document)
      if (value !== null && sql.claim.run(kind.name, field, value, document.id).changes === 0)
        throw new Refusal({ ok: false, reason: 'taken', field })
    }
  }

  /** Row, unique values, facets, feed and journal change together or not at all. */
  async function write(
    change: Change,
    entries: readonly NewEntry[],
    row: { run(): number | bigint; refusal: WriteResult; document: T | null; durability?: Durability },
  ): Promise<WriteResult> {
    try {
      return await batch.commit(() => {
        if (row.run() === 0) throw new Refusal(row.refusal)
        if (kind.unique) sql.release.run(kind.name, change.id)
        if (row.document) claimValues(row.document)
        facets.put(change.id, row.document)
        if (kind.announced) hooks.record(change)
        hooks.enter(change, entries)
        return OK
      }, row.durability)
    } catch (error) {
      if (error instanceof Refusal) return error.result
      throw error
    }
  }

  const changeOf = ({ id, version }: Document, deleted = false): Change => ({ kind: kind.name, id, version, deleted })
  return {
    get: async id => reader.get(id),
    list: async query => reader.list(query),
    insert(document, entries = [], durability = 'at_once') {
      const { id, version } = document
      const run = () => sql.insert.run(kind.name, id, version, JSON.stringify(document)).changes
      return write(changeOf(document), entries, { run, refusal: ID_TAKEN, document, durability })
    },
    replace(document, entries = []) {
      const { id, version } = document
      const run = () => sql.replace.run(version, JSON.stringify(document), kind.name, id, version - 1).changes
      return write(changeOf(document), entries, { run, refusal: STALE, document })
    },
    remove(document, entries = []) {
      const { id, version } = document
      const run = () => sql.remove.run(kind.name, id, version).changes
      const change = changeOf({ id, version: version + 1 }, true)
      return write(change, entries, { run, refusal: STALE, document: null })
    },
  }
}

const statements = (prepared: StatementCache) => ({
  insert: prepared('INSERT INTO documents (kind, id, version, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
  replace: prepared('UPDATE documents SET version = ?, body = ? WHERE kind = ? AND id = ? AND version = ?'),
  remove: prepared('DELETE FROM documents WHERE kind = ? AND id = ? AND version = ?'),
  claim: prepared('INSERT INTO unique_values (kind, field, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
  release: prepared('DELETE FROM unique_values WHERE kind = ? AND id = ?'),
})

/** Maintains the facet rows of documents. */
function sqliteFacets<T extends Document>(prepared: StatementCache, kind: Kind<T>) {
  const of = prepared('SELECT name, value FROM facets WHERE kind = ? AND id = ?')
  const add = prepared('INSERT INTO facets (kind, name, value, id) VALUES (?, ?, ?, ?)')
  const drop = prepared('DELETE FROM facets WHERE kind = ? AND name = ? AND value = ? AND id = ?')

  /** Most writes change one facet of many, so only the difference is written. */
  function put(id: string, document: T | null): void {
    if (!kind.facets) return
    const wanted = new Map(document === null ? [] : Object.entries(kind.facets(document)))
    for (const row of of.all(kind.name, id)) {
      const [name, value] = [String(row.name), String(row.value)]
      if (wanted.get(name) === value) wanted.delete(name)
      else drop.run(kind.name, name, value, id)
    }
    for (const [name, value] of wanted) add.run(kind.name, name, value, id)
  }

  return { put }
}

interface DocumentReader<T> {
  get(id: string): T | null
  list(query: Query): T[]
}

/**
 * Returned documents are shared: callers must not modify them. They are not parsed again: every document has the current schema
 * from the moment the store is open.
 */
function documentReader<T extends Document>(prepared: StatementCache, kind: Kind<T>): DocumentReader<T> {
  // A version identifies a document only where ids are never reused.
  return kind.announced ? cachingReader(kind, prepared) : plainReader(kind, prepared)
}

function plainReader<T extends Document>(kind: Kind<T>, prepared: StatementCache): DocumentReader<T> {
  const body = prepared('SELECT body FROM documents WHERE kind = ? AND id = ?')
  const parse = (row: Record<string, unknown>): T => JSON.parse(String(row.body))
  return {
    get(id) {
      const row = body.get(kind.name, id)
      return row === undefined ? null : parse(row)
    },
    list(query) {
      const { text, values } = listSql('body', kind.name, query)
      return prepared(text)
        .all(...values)
        .map(parse)
    },
  }
}

/** Reads versions first, and bodies only of documents whose cached version differs. */
function cachingReader<T extends Document>(kind: Kind<T>, prepared: StatementCache): DocumentReader<T> {
  const cache = documentCache<T>()
  const newer = prepared(
    'SELECT version, CASE version WHEN ? THEN NULL ELSE body END AS body FROM documents WHERE kind = ? AND id = ?',
  )

  function get(id: string): T | null {
    const row = newer.get(cache.versionOf(id), kind.name, id)
    if (row === undefined) return null
    const known = cache.get(id, Number(row.version))
    return known ?? remember(String(row.body))
  }

  function remember(body: string): T {
    const document: T = JSON.parse(body)
    cache.put(document, body.length)
    return document
  }

  return {
    get,
    list(query) {
      const { text, values } = listSql('id, version', kind.name, query)
      return prepared(text)
        .all(...values)
        .flatMap(row => cache.get(String(row.id), Number(row.version)) ?? get(String(row.id)) ?? [])
    },
  }
}

const FACET = 'SELECT id FROM facets WHERE kind = ? AND name = ?'

/** SQLite chooses whether to read facets by value or by id. */
function listSql(what: string, kind: string, query: Query): { text: string; values: (string | number)[] } {
  const conditions = ['kind = ?']
  const values: (string | number)[] = [kind]
  const add = (condition: string, ...bound: string[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  if (query.after !== undefined) add('id > ?', query.after)
  for (const [name, value] of Object.entries(query.where ?? {}))
    add(`id IN (${FACET} AND value = ?)`, kind, name, value)
  for (const [name, value] of Object.entries(query.whereNot ?? {})) {
    add(`NOT EXISTS (${FACET} AND value = ? AND id = documents.id)`, kind, name, value)
  }
  for (const [name, value] of Object.entries(query.contains ?? {})) {
    add(`id IN (${FACET} AND instr(lower(value), lower(?)) > 0)`, kind, name, value)
  }
  values.push(query.limit)
  return { text: `SELECT ${what} FROM documents WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ?`, values }
}

/**
 * Total characters of cached bodies. Together with the parsed documents they take about two and a half times as many
 * bytes.
 */
const CHARACTERS_MAX = 48 * 1024 * 1024
/**
 * Uses until a round ends, in total and per cached document. Lists that are read page by page must not end a round too
 * soon.
 */
const ROUND_USES_MIN = 5_000
const ROUND_USES_EACH = 8

interface Kept<T> {
  readonly document: T
  readonly characters: number
}

/** Parsed documents of one kind, so that unchanged documents are not parsed again. */
interface DocumentCache<T extends Document> {
  /** The document, if this version is cached. */
  get(id: string, version: number): T | undefined
  /** The cached version, 0 for none. */
  versionOf(id: string): number
  put(document: T, characters: number): void
}

/**
 * Evicts documents that were not used for a whole round, and the oldest ones when the cache is full. Recording every
 * use (LRU) would cost more than reading a few documents again.
 */
export function documentCache<T extends Document>(charactersMax = CHARACTERS_MAX): DocumentCache<T> {
  let used = new Map<string, Kept<T>>()
  /** Used in the previous round and not since. */
  let unused = new Map<string, Kept<T>>()
  let held = 0
  let uses = 0

  function find(id: string): Kept<T> | undefined {
    uses += 1
    const known = used.get(id)
    if (known) return known
    const old = unused.get(id)
    if (old) {
      unused.delete(id)
      used.set(id, old)
    }
    return old
  }

  function drop(id: string): void {
    held -= (used.get(id) ?? unused.get(id))?.characters ?? 0
    used.delete(id)
    unused.delete(id)
  }

  function startRound(): void {
    for (const { characters } of unused.values()) held -= characters
    unused = used
    used = new Map()
    uses = 0
  }

  function evictUntilItFits(): void {
    for (const known of [unused, used]) {
      for (const oldest of known.keys()) {
        if (held <= charactersMax) return
        drop(oldest)
      }
    }
  }

  return {
    get(id, version) {
      const document = find(id)?.document
      return document?.version === version ? document : undefined
    },
    versionOf: id => find(id)?.document.version ?? 0,
    put(document, characters) {
      drop(document.id)
      if (uses >= Math.max(ROUND_USES_MIN, ROUND_USES_EACH * (used.size + unused.size))) startRound()
      used.set(document.id, { document, characters })
      held += characters
      evictUntilItFits()
    },
  }
}

export type StatementCache = (text: string) => StatementSyncInstance

/** Caches every statement forever, so bind values instead of writing them into the SQL. */
export function statementCache(db: DatabaseSyncInstance): StatementCache {
  const statements = new Map<string, StatementSyncInstance>()
  return text => {
    const known = statements.get(text)
    if (known) return known
    const statement = db.prepare(text)
    statements.set(text, statement)
    return statement
  }
}
