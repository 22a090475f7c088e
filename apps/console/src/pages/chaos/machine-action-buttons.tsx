import type { CmlFaults, MachineAct } from '@lcm/client/sim-client'
import { cmlTroubles, nameOf, type Pair } from '@lcm/client/sim-worker-pairs'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { Menu, type MenuItem } from '../../parts/dialog/menu.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { machineActions } from './allowed-machine-actions.ts'
import type { Sim } from './use-sim.ts'

interface ActionProps {
  readonly pair: Pair
  readonly sim: Sim
}

const PAST_TENSE: Readonly<Record<MachineAct, string>> = {
  start: 'started',
  stop: 'stopped',
  reboot: 'rebooted',
  terminate: 'terminated',
}
const LABELS: Readonly<Record<MachineAct, string>> = {
  start: 'Start',
  stop: 'Stop',
  reboot: 'Reboot',
  terminate: 'Terminate…',
}

export function MachineActions({ pair, sim }: ActionProps) {
  const { dialog } = useConsole()
  const name = nameOf(pair)
  const actions = machineActions(pair.machine)
  return (
    <span class="actions">
      {actions.map(action => (
        <button
          key={action}
          type="button"
          class={`button small ${action === 'terminate' ? 'danger' : ''}`}
          onClick={() => {
            if (action === 'terminate') dialog.value = <TerminateDialog pair={pair} sim={sim} />
            else changeMachine(sim, pair, action)
          }}
        >
          {LABELS[action]}
          <span class="sr-only"> {name} directly in EC2</span>
        </button>
      ))}
      {pair.machine.state === 'running' && (
        <button
          type="button"
          class="button small"
          aria-haspopup="dialog"
          onClick={event => {
            dialog.value = <Menu label={`CML of ${name}`} anchor={event.currentTarget} items={cmlItems(sim, pair)} />
          }}
        >
          CML <NamedIcon name="more" />
          <span class="sr-only"> of {name}</span>
        </button>
      )}
    </span>
  )
}

const changeMachine = (sim: Sim, pair: Pair, action: MachineAct) =>
  sim.change(`${PAST_TENSE[action]} ${nameOf(pair)} directly in EC2`, client =>
    client.act(pair.machine.instance_id, action),
  )

function cmlItems(sim: Sim, pair: Pair): MenuItem[] {
  const { instance_id, cml_faults } = pair.machine
  const name = nameOf(pair)
  const broken = (key: string, words: { label: string; help: string; text: string }, faults: CmlFaults): MenuItem => ({
    key,
    label: words.label,
    help: words.help,
    isDanger: false,
    disabledReason: null,
    onPick: () => sim.change(`${words.text} ${name}`, client => client.breakCml(instance_id, faults)),
  })
  return [
    broken(
      'fail',
      { label: 'Fail all calls', help: 'CML returns 500 to every call', text: 'made every call fail at the CML of' },
      { fail_one_in: 1 },
    ),
    broken(
      'cut',
      { label: 'Cut the network', help: 'Its labs keep running', text: 'cut the network to' },
      { network: 'cut' },
    ),
    broken(
      'expire',
      {
        label: 'Expire tokens early',
        help: 'API sessions last seconds',
        text: 'made tokens expire early at the CML of',
      },
      { session_lifetime_factor: 0.0001 },
    ),
    {
      key: 'forget',
      label: 'End all API sessions',
      help: 'Every client must log in again',
      isDanger: false,
      disabledReason: null,
      onPick: () =>
        sim.change(`ended all API sessions at the CML of ${name}`, client => client.forgetSessions(instance_id)),
    },
    {
      key: 'heal',
      label: 'Clear CML faults',
      help: 'Restores the behavior of the preset',
      isDanger: false,
      disabledReason: cmlTroubles(cml_faults).length === 0 ? 'It has no faults' : null,
      onPick: () => sim.change(`cleared the faults of the CML of ${name}`, client => client.healCml(instance_id)),
    },
  ]
}

function TerminateDialog({ pair, sim }: ActionProps) {
  return (
    <ConfirmDialog
      title={`Terminate ${nameOf(pair)} directly in EC2?`}
      verb="Terminate"
      typed={null}
      onConfirm={() => changeMachine(sim, pair, 'terminate')}
    >
      <p>
        The simulated machine <code>{pair.machine.instance_id}</code>, its disk and its labs are deleted outside LCM, as
        if someone had used the AWS console.
      </p>
    </ConfirmDialog>
  )
}
