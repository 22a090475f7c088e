import { type AnyKind, type Document, type OldBody, StoreError, type StoreSchema } from './store.ts'

/** For stores whose documents never change their shape. */
export const NO_UPGRADES: StoreSchema = { kinds: [], upgrades: [] }

/** A document with the values that stores index. */
export interface IndexedDocument {
  readonly document: Document
  readonly facets: Readonly<Record<string, string>>
  /** Field and value. */
  readonly unique: readonly (readonly [string, string])[]
}

export function refuseNewer(found: number, { upgrades }: StoreSchema, store: string): void {
  if (found <= upgrades.length) return
  const schemas = `documents of schema ${found}, this one reads up to ${upgrades.length}`
  throw new StoreError(`${store} was written by a newer LCM (${schemas}). Use that version`, { isFinal: true })
}

/** Runs the upgrades after schema `from`, then parses the body in full. Throws a StoreError that names the document. */
export function upgraded<T>(
  kind: { readonly name: string; parse(body: unknown): T },
  stored: { id: string; body: string; from: number },
  schema: StoreSchema,
): T {
  try {
    let body: OldBody = JSON.parse(stored.body)
    for (const upgrade of schema.upgrades.slice(stored.from)) body = upgrade[kind.name]?.(body) ?? body
    return kind.parse(body)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new StoreError(
      `${kind.name} ${stored.id} can't be upgraded, and nothing was changed: ${reason}. Keep using the version that wrote it`,
      { cause, isFinal: true },
    )
  }
}

/** `document` must come from the kind's own `parse`. */
export function indexed(kind: AnyKind, document: Document): IndexedDocument {
  const own = document as never
  const unique = Object.entries(kind.unique ?? {}).flatMap(([field, read]) => {
    const value = read(own)
    return value === null ? [] : [[field, value] as const]
  })
  return { document, facets: kind.facets?.(own) ?? {}, unique }
}
