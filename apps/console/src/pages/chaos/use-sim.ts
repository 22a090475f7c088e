import { type SimClient, simClient } from '@lcm/client/sim-client'
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/failure-text.ts'
import type { UserAction } from './decision-feed.ts'

export interface Sim {
  readonly client: SimClient
  /** Actions of the user on this page, newest first. */
  readonly userActions: readonly UserAction[]
  /** Changes the simulated cloud and records it as `text`; an error is shown as a notice. */
  change(text: string, send: (client: SimClient) => Promise<unknown>): Promise<void>
}

export function useSim(base: string): Sim {
  const { notices, nowMs, transport } = useConsole()
  const client = useMemo(() => simClient(base, transport), [base, transport])
  const userActions = useSignal<readonly UserAction[]>([])
  return {
    client,
    userActions: userActions.value,
    async change(text, send) {
      const userAction: UserAction = { id: `action ${userActions.value.length}`, atMs: nowMs.peek(), text }
      try {
        await send(client)
        userActions.value = [userAction, ...userActions.value]
      } catch (error) {
        notices.show('refused', 'Could not change the simulated cloud', failureText(error))
      }
    },
  }
}
