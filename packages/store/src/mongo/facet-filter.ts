import type { Filter } from 'mongodb'
import type { Query } from '../store.ts'
import { LIVE, type StoredDocument } from './stored-records.ts'

/** All facets of a document are one array of text, so that one index serves every filter. */
export function facetsOf(facets: Readonly<Record<string, string>>): string[] {
  return Object.entries(facets).map(([name, value]) => facet(name, value))
}

/** The first `=` ends the name, so `=` inside the name is escaped. */
const facet = (name: string, value: string): string => `${name.replaceAll('%', '%25').replaceAll('=', '%3D')}=${value}`

export function listFilter({ where = {}, whereNot = {}, contains = {}, after }: Query): Filter<StoredDocument> {
  const conditions: Filter<StoredDocument>[] = [
    ...facetsOf(where).map(text => ({ facets: text })),
    ...facetsOf(whereNot).map(text => ({ facets: { $ne: text } })),
    ...Object.entries(contains).map(([name, value]) => ({ facets: { $regex: containing(name, value) } })),
  ]
  return {
    ...LIVE,
    ...(after === undefined ? {} : { _id: { $gt: after } }),
    ...(conditions.length === 0 ? {} : { $and: conditions }),
  }
}

/** The name comes before the case-insensitive part, so that the index can be used. */
function containing(name: string, value: string): string {
  return `^${literally(facet(name, ''))}(?is:.*${literally(value)})`
}

/** Escapes the text for use in a pattern. */
function literally(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, sign => (sign === '\0' ? '\\x00' : `\\${sign}`))
}
