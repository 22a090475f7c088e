import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { Colors } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

export const leakColumns = (nowMs: number, colors: Colors): readonly Column<LicenseLeak>[] => [
  { title: 'ID', text: leak => leak.id },
  { title: 'WORKER', text: leak => leak.worker_name },
  { title: 'PRODUCT', text: leak => leak.product ?? '' },
  { title: 'HOSTNAME', text: leak => leak.hostname ?? '' },
  { title: 'UDI', text: leak => leak.udi ?? '' },
  { title: 'AGE', text: leak => ageOf(leak.at, nowMs) },
  {
    title: 'RESOLVED',
    text: ({ resolved_at, resolved_by }) =>
      resolved_at === null ? 'no' : `${ageOf(resolved_at, nowMs)} ago by ${resolved_by}`,
    paint: (text, { resolved_at }) => (resolved_at === null ? colors.yellow(text) : text),
  },
  { title: 'REASON', text: leak => leak.reason.message },
]
