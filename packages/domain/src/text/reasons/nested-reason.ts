/** A reason inside the params of another. Declared here because the catalog is below `reason.ts`. */
export interface NestedReason {
  readonly code: string
  readonly message: string
  readonly params: Readonly<Record<string, unknown>>
}
