import type { Client } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/wire'
import { assert } from '@lcm/domain/assert'
import type { ReadonlySignal, Signal } from '@preact/signals'
import { createContext, type VNode } from 'preact'
import { useContext } from 'preact/hooks'
import type { LiveState } from '../state/live-state.ts'
import type { Notices } from '../state/notices.ts'
import type { Requests } from '../state/requests.ts'
import type { Router } from '../state/router.ts'
import type { LiveStream } from '../state/stream.ts'
import type { ThemeChoice } from '../state/theme.ts'

/** What main.tsx puts together and every page and part may use. */
export interface ConsoleParts {
  readonly client: Client
  /** What the client requests over, for what is no part of its contract. */
  readonly transport: Dispatch
  readonly state: LiveState
  readonly stream: LiveStream
  readonly requests: Requests
  readonly notices: Notices
  readonly router: Router
  readonly themeChoice: ThemeChoice
  /** What is on top of the page. It outlives the row that opened it: rows come and go with every event. */
  readonly dialog: Signal<VNode | null>
  /** The server's time, so that ages and countdowns are right on a browser whose clock is not. */
  readonly nowMs: ReadonlySignal<number>
  /** Ends the session of this browser and begins the page anew. */
  logOut(): Promise<void>
}

export const ConsoleContext = createContext<ConsoleParts | null>(null)

export function useConsole(): ConsoleParts {
  const parts = useContext(ConsoleContext)
  assert(parts, 'useConsole outside of the console')
  return parts
}
