import { type Clock, gone, poll, type Reconciliation, reconciliation, success } from '@lcm/runtime'

export interface Lamp {
  readonly id: string
  readonly isDesiredOn: boolean
  readonly isOn: boolean
}

/** Checks every lamp each second and switches those that are not in their desired state. */
export function lampController(lamps: Map<string, Lamp>, clock: Clock): Reconciliation {
  return reconciliation<Lamp>({
    name: 'lamp-controller',
    clock,
    triggers: [poll({ list: () => pagesOf(lamps), keyOf: lamp => lamp.id, initialDelayMs: 0, intervalMs: 1_000 })],
    async reconcile(id) {
      const lamp = lamps.get(id)
      if (lamp === undefined) return gone('the lamp was removed')
      if (lamp.isOn === lamp.isDesiredOn) return success()
      lamps.set(id, { ...lamp, isOn: lamp.isDesiredOn })
      return success(`switched ${lamp.isDesiredOn ? 'on' : 'off'}`)
    },
  })
}

async function* pagesOf(lamps: Map<string, Lamp>) {
  yield [...lamps.values()]
}
