import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { reason } from '@lcm/domain/reason'
import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import {
  brokenChain,
  type Moves,
  orphanedLicenses,
  unannouncedMachines,
  undecidedMoves,
  wrongReservations,
} from './settled-state-rules.ts'

const holder = aServingWorker({ name: 'metal-1', ec2_instance_id: 'i-1' })
const without = { ...holder, license: { ...holder.license, status: 'UNREGISTERED' as const } }
const seat = { instance_id: 'i-1', left_behind: false }

it('finds licenses without a worker, duplicate licenses, and workers without the license that they report', () => {
  expect(orphanedLicenses([seat], [holder])).toEqual([])
  expect(orphanedLicenses([seat], [{ ...holder, status: 'TERMINATED' }])).toEqual(['the license of i-1 has no worker'])
  expect(orphanedLicenses([seat], [without])).toEqual(['the license of i-1 has no worker'])
  expect(orphanedLicenses([seat, seat], [holder])).toEqual(['i-1 has two licenses'])
  expect(orphanedLicenses([{ ...seat, left_behind: true }], [holder])).toEqual(['the license of i-1 was left behind'])
  expect(orphanedLicenses([], [holder])).toEqual(['metal-1 reports a license that is not registered'])
})

it('finds capacity and ports that are reserved for ended sessions', () => {
  const needs = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom('2026-01-01T00:00:00.000Z') }
  const worker = aServingWorker({ name: 'w', reservations: { 'ls-1': needs }, ports: { 'lr-1': { a: 2000 } } })
  const session = aSession({ id: 'ls-1', status: 'RUNNING', lab_record_id: 'lr-1' })
  expect(wrongReservations([worker], [session])).toEqual([])
  const kept = ['w reserves capacity for ls-1', 'w keeps ports for lr-1']
  expect(wrongReservations([worker], [{ ...session, status: 'TERMINATED' }])).toEqual(kept)
})

const move = (version: number, from: Moves[number]['from'], to: Moves[number]['to']): Moves[number] => ({
  ...{
    id: `worker:w-1:${version}:0`,
    by: 'worker-controller',
    at: '2026-01-01T00:00:00.000Z',
    because: reason('not_given'),
  },
  ...{ from, to },
})
const born = move(1, null, 'PENDING')
const named = { name: 'w', status: 'PROVISIONING' } as const

it('follows a worker by the versions in its journal, not by timestamps', () => {
  expect(brokenChain(named, [move(2, 'PENDING', 'PROVISIONING'), born])).toEqual([])
  expect(brokenChain(named, [born])).toEqual(['w is PROVISIONING, and its journal says PENDING'])
  expect(brokenChain(named, [move(2, 'PENDING', 'PROVISIONING')])).toEqual(['w began as PENDING'])
  expect(brokenChain({ ...named, status: 'RUNNING' }, [born, move(2, 'PENDING', 'RUNNING')])).toEqual([
    'w moved from PENDING to RUNNING while it was PENDING',
  ])
})

it('finds moves without a decision in the same write', () => {
  const moves = [born, move(2, 'PENDING', 'PROVISIONING'), move(5, 'PROVISIONING', 'STARTING')]
  expect(undecidedMoves(named, moves, [{ id: 'worker:w-1:2:0' }, { id: 'worker:w-1:5:1' }])).toEqual([])
  expect(undecidedMoves(named, moves, [{ id: 'worker:w-1:2:0' }, { id: 'worker-controller-0:17' }])).toEqual([
    'w moved from PROVISIONING to STARTING by worker-controller without a decision',
  ])
})

it('finds machines that were launched or terminated without a move in the journal', () => {
  const moves = [born, move(2, 'PENDING', 'PROVISIONING')]
  expect(unannouncedMachines('w', [{ state: 'running' }], moves)).toEqual([])
  expect(unannouncedMachines('w', [{ state: 'running' }], [born])).toEqual(['w was launched without a move'])
  expect(unannouncedMachines('w', [{ state: 'terminated' }], moves)).toEqual(['w was terminated without a move'])
})
