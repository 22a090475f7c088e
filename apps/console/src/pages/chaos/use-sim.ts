import { type SimClient, simClient } from '@lcm/client/sim-client'
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/error-text.ts'
import type { UserAction } from './sim-state.ts'

export interface Sim {
  readonly client: SimClient
  /** What was done on this page, the newest first. */
  readonly userActions: readonly UserAction[]
  /** Does something to the simulated cloud and notes it as `text`; a refusal is told. */
  change(text: string, send: (client: SimClient) => Promise<unknown>): Promise<void>
}

export function useSim(base: string): Sim {
  const { notices, nowMs, transport } = useConsole()
  const client = useMemo(() => simClient(base, transport), [base, transport])
  const deeds = useSignal<readonly UserAction[]>([])
  return {
    client,
    userActions: deeds.value,
    async change(text, send) {
      const deed: UserAction = { id: `deed ${deeds.value.length}`, atMs: nowMs.peek(), text }
      try {
        await send(client)
        deeds.value = [deed, ...deeds.value]
      } catch (error) {
        notices.show('refused', `The simulated cloud refused: ${text}`, failureText(error))
      }
    },
  }
}
