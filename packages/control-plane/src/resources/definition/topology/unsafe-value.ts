const HALF_CHARACTER = /\p{Surrogate}/u

interface Limits {
  readonly depthMax: number
  /** Size with all references expanded. */
  readonly charsMax: number
}

export interface UnsafeValue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/**
 * First value that stores, parsers and labs treat differently, or that grew too large by references; null when there is none.
 */
export function findUnsafeValue(value: unknown, { depthMax, charsMax }: Limits): UnsafeValue | null {
  let chars = 0
  const around = new Set<object>()
  const walk = (each: unknown, path: readonly (string | number)[]): UnsafeValue | null => {
    chars += typeof each === 'string' ? each.length : 1
    if (chars > charsMax) return { path, message: 'its references make it too long' }
    if (path.length > depthMax) return { path, message: 'nested too deeply' }
    if (typeof each === 'string') return oddText(each, path)
    if (typeof each !== 'object' || each === null) return null
    if (around.has(each)) return { path, message: 'it refers to itself' }
    around.add(each)
    for (const [key, child] of Object.entries(each)) {
      const place = [...path, Array.isArray(each) ? Number(key) : key]
      const odd =
        (key === '__proto__' ? { path, message: '__proto__ is not allowed' } : oddText(key, path)) ?? walk(child, place)
      if (odd !== null) return odd
    }
    around.delete(each)
    return null
  }
  return walk(value, [])
}

function oddText(text: string, path: UnsafeValue['path']): UnsafeValue | null {
  if (text.includes('\u0000')) return { path, message: 'NUL is not allowed' }
  return HALF_CHARACTER.test(text) ? { path, message: 'half of a character is not allowed' } : null
}
