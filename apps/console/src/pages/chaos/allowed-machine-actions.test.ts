import { aSimMachine } from '@lcm/client/testing/a-sim-machine'
import { expect, it } from 'vitest'
import { machineActions } from './allowed-machine-actions.ts'

it('machines offer the actions that EC2 allows', () => {
  expect(machineActions(aSimMachine({ state: 'running' }))).toEqual(['stop', 'reboot', 'terminate'])
  expect(machineActions(aSimMachine({ state: 'stopped' }))).toEqual(['start', 'terminate'])
  expect(machineActions(aSimMachine({ state: 'shutting-down' }))).toEqual([])
})
