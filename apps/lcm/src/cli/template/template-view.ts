import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Colors } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

const capacityOf = ({ capacity }: WorkerTemplate): string => `${capacity.cpu_cores} CPU, ${capacity.memory_gb} GB`

export const templateColumns = (nowMs: number, colors: Colors): readonly Column<WorkerTemplate>[] => [
  { title: 'NAME', text: template => template.name },
  { title: 'ID', text: template => template.id },
  { title: 'TYPES', text: template => template.instance_types.join(',') },
  { title: 'CAPACITY', text: capacityOf },
  { title: 'USD/HOUR', text: template => template.cost_per_hour_usd.toFixed(2) },
  {
    title: 'ENABLED',
    text: template => (template.enabled ? 'yes' : 'no'),
    paint: (text, template) => (template.enabled ? text : colors.gray(text)),
  },
  { title: 'AGE', text: template => ageOf(template.created_at, nowMs) },
]
