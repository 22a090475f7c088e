import { type SimClient, simClient } from '@lcm/client/sim-client'
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/error-text.ts'
import type { Deed } from './sim-state.ts'

export interface Sim {
  readonly client: SimClient
  /** What was done on this page, the newest first. */
  readonly deeds: readonly Deed[]
  /** Does something to the simulated cloud and notes it as `text`; a refusal is told. */
  act(text: string, send: (client: SimClient) => Promise<unknown>): Promise<void>
}

export function useSim(base: string): Sim {
  const { notices, nowMs, transport } = useConsole()
  const client = useMemo(() => simClient(base, transport), [base, transport])
  const deeds = useSignal<readonly Deed[]>([])
  return {
    client,
    deeds: deeds.value,
    async act(text, send) {
      const deed: Deed = { id: `deed ${deeds.value.length}`, atMs: nowMs.peek(), text }
      try {
        await send(client)
        deeds.value = [deed, ...deeds.value]
      } catch (error) {
        notices.tell('refused', `The simulated cloud refused: ${text}`, failureText(error))
      }
    },
  }
}
