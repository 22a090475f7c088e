import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition } from '../testing/samples.ts'

function course() {
  const captured = capturedShell()
  const { lablets } = captured.api
  lablets.definitions.put(aDefinition())
  lablets.preview = {
    outcome: 'place',
    because: textReason('metal-1 is the fullest that fits'),
    candidates: [
      {
        worker_id: 'w-1',
        worker_name: 'metal-1',
        score: 0.4149,
        before: { cpu: 0.25, memory: 0.5 },
        after: { cpu: 0.292, memory: 0.52 },
      },
    ],
    refusals: [{ worker_id: 'w-2', worker_name: 'metal-2', category: 'status', because: textReason('it is cordoned') }],
  }
  return {
    ...captured,
    lablets,
    preview: (...args: string[]) => run(['preview', 'definition', ...args], captured.shell),
  }
}

it('says what would happen, who could take it and why others could not', async () => {
  const { preview, outLines } = course()
  expect(await preview('two-routers')).toBe(0)
  expect(outLines()).toEqual([
    'A session of two-routers 1.0.0 that starts now would be placed immediately: metal-1 is the fullest that fits.',
    '',
    'Candidates, best first',
    '  WORKER    ID    SCORE   CPU          MEMORY',
    '  metal-1   w-1   0.41    25% -> 29%   50% -> 52%',
    '',
    'Rejected',
    '  WORKER    ID    CATEGORY   REASON',
    '  metal-2   w-2   status     it is cordoned',
  ])
})

it('leaves out what there is none of, and gives programs all of it', async () => {
  const { preview, lablets, outLines } = course()
  lablets.preview = { outcome: 'scale_up', because: textReason('nobody is there'), candidates: [], refusals: [] }
  expect(await preview('ld-1')).toBe(0)
  expect(outLines()).toEqual([
    'A session of two-routers 1.0.0 that starts now would start a scale-up: nobody is there.',
  ])
  const json = course()
  expect(await json.preview('two-routers', '--json')).toBe(0)
  expect(JSON.parse(json.out())).toEqual(json.lablets.preview)
})

it('exits with 3 for a definition that is not there', async () => {
  expect(await course().preview('none')).toBe(3)
})
