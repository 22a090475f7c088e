import type { Client } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import { assert } from '@lcm/domain/assert'
import type { ReadonlySignal, Signal } from '@preact/signals'
import { createContext, type VNode } from 'preact'
import { useContext } from 'preact/hooks'
import type { LiveState } from '../state/live-state.ts'
import type { LiveStream } from '../state/live-stream.ts'
import type { Notices } from '../state/notices.ts'
import type { Requests } from '../state/request-tracker.ts'
import type { Router } from '../state/router.ts'
import type { Credentials, SignInFailure } from '../state/sign-in.ts'
import type { ThemeChoice } from '../state/theme.ts'

/** Services that main.tsx wires and every page and part may use. */
export interface ConsoleParts {
  readonly client: Client
  /** HTTP transport of the client, for endpoints outside the API contract. */
  readonly transport: Dispatch
  readonly state: LiveState
  readonly stream: LiveStream
  readonly requests: Requests
  readonly notices: Notices
  readonly router: Router
  readonly themeChoice: ThemeChoice
  /** The open dialog or menu. Held here because the row that opened it may be re-rendered at any event. */
  readonly dialog: Signal<VNode | null>
  /** Server time: ages and countdowns stay correct when the browser's clock is wrong. */
  readonly nowMs: ReadonlySignal<number>
  /** Reloads the page as the person who signed in; returns why it failed. */
  signIn(credentials: Credentials): Promise<SignInFailure | null>
  /** Ends the session and reloads the page. */
  logOut(): Promise<void>
}

export const ConsoleContext = createContext<ConsoleParts | null>(null)

export function useConsole(): ConsoleParts {
  const parts = useContext(ConsoleContext)
  assert(parts, 'useConsole was called outside ConsoleContext')
  return parts
}
