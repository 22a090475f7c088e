import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Query } from '../../state/router.ts'
import { Loading, RenderFailed } from './page-states.tsx'

type QueryPage = ComponentType<{ readonly query: Query }>

/** A page whose code is loaded when it is opened first. */
export function lazyPage(load: () => Promise<QueryPage>): QueryPage {
  let loaded: QueryPage | null = null
  return function LazyPage({ query }) {
    const page = useSignal<{ readonly Page: QueryPage | null; readonly failure: unknown }>({
      Page: loaded,
      failure: null,
    })
    const attempts = useSignal(0)
    useEffect(() => {
      let isLeft = false
      const settle = (outcome: { readonly Page: QueryPage | null; readonly failure: unknown }) => {
        loaded = outcome.Page
        if (!isLeft) page.value = outcome
      }
      if (page.peek().Page === null)
        load().then(
          Page => settle({ Page, failure: null }),
          failure => settle({ Page: null, failure }),
        )
      return () => {
        isLeft = true
      }
    }, [attempts.value, page])
    const { Page, failure } = page.value
    if (Page !== null) return <Page query={query} />
    return failure === null ? <Loading /> : <RenderFailed failure={failure} onRetry={() => attempts.value++} />
  }
}
