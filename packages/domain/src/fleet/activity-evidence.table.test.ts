import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { evidenceOf } from './activity-evidence.ts'

const AT = '2026-01-01T03:00:00Z'
const lastOf = (category: string, user_id: string | null = null) =>
  evidenceOf(
    { own_user_id: 'us', is_collected: true, events: [{ category, at: AT, user_id, lab_id: null }] },
    { runningNodes: null, worker: aWorker() },
  )?.last_activity_at

it.each([
  'start_lab',
  'stop_lab',
  'import_lab',
  'export_lab',
  'start_node',
  'stop_node',
  'queue_node',
  'boot_node',
  'wipe_node',
  'packet_capture',
  'user_activity',
])('%s is an activity of users', category => {
  expect(lastOf(category)).toBe('2026-01-01T03:00:00.000Z')
})

it.each([
  'license_info',
  'maintenance_state_change',
  'notice_state_change',
  'running_nodes',
  'resource_pool',
  'user_group',
  'system_stats',
  'blkinfo',
  'vmware',
  'dmiinfo',
  'cpuinfo',
  'meminfo',
  'hypervisor',
  'aaa_info',
])('%s is an activity of the server itself', category => {
  expect(lastOf(category)).toBeNull()
})

it('events of an administrator count, and only those of the account of LCM do not', () => {
  expect(lastOf('user_activity', '00000000-0000-4000-a000-000000000000')).not.toBeNull()
  expect(lastOf('user_activity', 'us')).toBeNull()
})
