import type { JournalEntry } from '../store.ts'

/** A document as MongoDB stores it. Unset fields are absent, so that sparse indexes stay small. */
export interface StoredDocument {
  _id: string
  version: number
  /**
   * JSON text: field names inside may contain dots and dollars, and every store returns exactly the same. Absent in a
   * tombstone.
   */
  json?: string
  /** Number of the schema that the JSON has. */
  schema?: number
  /**
   * The JSON text as 0.1.0 stores it. 0.1.0 knows no schema number: it can't read a document without this field, and a document
   * with it was last written by 0.1.0.
   */
  body?: string
  facets?: string[]
  unique?: Record<string, string>
  /** Journal entries of this and earlier writes that are not flushed yet. Empty means the same as absent. */
  outbox?: StoredEntry[]
  /** The newest version is not published yet. */
  announce?: true
  /** A tombstone: kept until it is published and its outbox is flushed. */
  deleted?: true
}

/** A journal entry in an outbox. Its subject is the document. */
export interface StoredEntry {
  id: string
  stream: string
  at: string
  body: string
}

export interface StoredJournalEntry {
  _id: string
  stream: string
  subject: string
  at: string
  body: string
}

export interface StoredSample {
  _id: string
  series: string
  at: string
  body: string
}

/** Path of unique values in a document and prefix of their index names. */
export const UNIQUE_PATH = 'unique.'

/** JSON text of a document and the number of its schema. */
export const storedJson = ({ json = 'null', schema = 0, body }: StoredDocument): { json: string; from: number } =>
  body === undefined ? { json, from: schema } : { json: body, from: 0 }

export const LIVE = { deleted: { $ne: true } } as const
/** Tests the first element, because servers differ on paths into an empty array. */
export const OUTBOX_EMPTY = { 'outbox.0': { $exists: false } } as const
export const OUTBOX_PENDING = { 'outbox.id': { $exists: true } } as const
/** A tombstone that can go. Repeated in every deletion, because the id may be in use again by then. */
export const EXPIRED_TOMBSTONE = { deleted: true, announce: { $ne: true }, ...OUTBOX_EMPTY } as const

export const toStoredJournalEntry = ({ id, stream, subject, at, body }: JournalEntry): StoredJournalEntry => ({
  _id: id,
  stream,
  subject,
  at,
  body: JSON.stringify(body),
})

export const fromStoredJournalEntry = ({ _id, stream, subject, at, body }: StoredJournalEntry): JournalEntry => ({
  id: _id,
  stream,
  subject,
  at,
  body: JSON.parse(body),
})
