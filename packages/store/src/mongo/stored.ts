import type { JournalEntry } from '../store.ts'

/** One of a kind, as MongoDB keeps it. What is unset is absent, so that sparse indexes hold only what they are for. */
export interface StoredDocument {
  _id: string
  version: number
  /** JSON text: names inside may have dots and dollars, and every store gives back exactly the same. Absent in a tombstone. */
  body?: string
  facets?: string[]
  unique?: Record<string, string>
  /** What this and earlier writes left for the journal and nobody has moved yet. Empty is the same as absent. */
  outbox?: StoredEntry[]
  /** The newest version has not been told. */
  announce?: true
  /** A tombstone: kept until it is told and its outbox is moved. */
  deleted?: true
}

/** Its subject is the document that it waits in. */
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

/** Where unique values are kept in a document, and what the names of their indexes begin with. */
export const UNIQUE_PATH = 'unique.'

export const LIVE = { deleted: { $ne: true } } as const
/** Asks for the first entry, since servers differ on whether an empty list has names inside. */
export const OUTBOX_EMPTY = { 'outbox.0': { $exists: false } } as const
export const OUTBOX_WAITING = { 'outbox.id': { $exists: true } } as const
/** A tombstone that is needed no more. Asked again in every deletion, since an id may be in use again by then. */
export const FINISHED = { deleted: true, announce: { $ne: true }, ...OUTBOX_EMPTY } as const

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
