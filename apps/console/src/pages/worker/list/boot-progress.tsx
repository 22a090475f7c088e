import type { Worker } from '@lcm/domain/worker/worker'
import { Age } from '../../../parts/age.tsx'
import { bootStages, bootText } from '../../../state/boot-stages.ts'

/** Boot progress in one line: a bar of stages and the current stage. */
export function BootProgress({ worker }: { worker: Worker }) {
  const stages = bootStages(worker)
  const passed = stages.filter(stage => stage.state === 'passed').length
  return (
    <span class="boot">
      <span class="boot-bar" aria-hidden="true">
        {stages.map(stage => (
          <span key={stage.type} class={`boot-step ${stage.state}`} />
        ))}
      </span>
      <span class="boot-text" title={bootText(worker)}>
        <span class="number">
          {passed}/{stages.length}
        </span>
        <span class="sr-only"> boot stages passed</span> in <Age since={worker.entered_status_at} />, {bootText(worker)}
      </span>
    </span>
  )
}
