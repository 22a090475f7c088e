import { toMs } from '@lcm/domain/instant'

/** A fault that the user injected on this page, listed among LCM's decisions. */
export interface UserAction {
  readonly id: string
  readonly atMs: number
  readonly text: string
}

export type FeedItem<D> =
  | { readonly atMs: number; readonly userAction: UserAction }
  | { readonly atMs: number; readonly decision: D }

/** User actions and decisions together, newest first. */
export function feedOf<D extends { readonly at: string }>(
  userActions: readonly UserAction[],
  decisions: readonly D[],
): FeedItem<D>[] {
  const done: FeedItem<D>[] = userActions.map(userAction => ({ atMs: userAction.atMs, userAction }))
  const decided: FeedItem<D>[] = decisions.map(decision => ({ atMs: toMs(decision.at), decision }))
  return [...done, ...decided].toSorted((a, b) => b.atMs - a.atMs)
}
