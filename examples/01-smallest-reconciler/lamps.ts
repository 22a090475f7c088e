import { type Clock, gone, poll, type Reconciliation, reconciliation, success } from '@lcm/runtime'

export interface Lamp {
  readonly id: string
  readonly isWantedOn: boolean
  readonly isOn: boolean
}

/** Looks at every lamp each second and switches those that are not as somebody wants them. */
export function lampController(lamps: Map<string, Lamp>, clock: Clock): Reconciliation {
  return reconciliation<Lamp>({
    name: 'lamp-controller',
    clock,
    triggers: [poll({ list: () => pagesOf(lamps), keyOf: lamp => lamp.id, initialDelayMs: 0, intervalMs: 1_000 })],
    async reconcile(id) {
      const lamp = lamps.get(id)
      if (lamp === undefined) return gone('lamp was taken away')
      if (lamp.isOn === lamp.isWantedOn) return success()
      lamps.set(id, { ...lamp, isOn: lamp.isWantedOn })
      return success(`switched ${lamp.isWantedOn ? 'on' : 'off'}`)
    },
  })
}

async function* pagesOf(lamps: Map<string, Lamp>) {
  yield [...lamps.values()]
}
