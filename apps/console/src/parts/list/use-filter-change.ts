import type { Query } from '../../state/router.ts'
import { useConsole } from '../console-context.ts'

/**
 * Changes part of the filter in the address. It starts from the address of the moment, not from the filter of the last render:
 * a second click may come before the page is drawn again.
 */
export function useFilterChange<F>(filterOf: (query: Query) => F, hashOf: (filter: F) => string) {
  const { router } = useConsole()
  return (part: Partial<F> | ((filter: F) => Partial<F>)) => {
    const route = router.route.peek()
    const filter = filterOf('query' in route ? route.query : {})
    router.replace(hashOf({ ...filter, ...(typeof part === 'function' ? part(filter) : part) }))
  }
}
