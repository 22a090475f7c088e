import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Format } from './option-parsers.ts'
import { changeText, handlesOf, printList, printOne, TEMPLATE_VIEW, WORKER_VIEW } from './resource-view.ts'
import { makeOutput } from './terminal/output.ts'
import { capturedShell } from './testing/captured-shell.ts'
import { aTemplate, aWorker, START_MS } from './testing/resource-builders.ts'

function printing(format: Format) {
  const { shell, out, err } = capturedShell()
  const output = makeOutput({ stdout: shell.stdout, stderr: shell.stderr, color: false, quiet: false })
  return { out, err, to: { output, format, nowMs: START_MS } }
}

it('prints a list as a table, as documents and as names', async () => {
  const workers = [aWorker(), aWorker({ id: 'w-2', name: 'metal-2' })]
  const text = async (format: Format) => {
    const { out, to } = printing(format)
    await printList(WORKER_VIEW, workers, to)
    return out()
  }
  expect((await text('table')).split('\n')).toHaveLength(4)
  expect(JSON.parse(await text('json'))).toEqual({ items: workers })
  expect(parse(await text('yaml'))).toEqual({ items: workers })
  expect(await text('name')).toBe('metal-1\nmetal-2\n')
})

it('prints one resource without a list around it', async () => {
  const { out, to } = printing('json')
  await printOne(TEMPLATE_VIEW, aTemplate(), to)
  expect(JSON.parse(out())).toEqual(aTemplate())
})

it('prints advice for an empty table', async () => {
  const { out, err, to } = printing('table')
  await printList(TEMPLATE_VIEW, [], to)
  expect([out(), err()]).toEqual(['', 'no templates found: create one with `lcm create template -f FILE`\n'])
})

it('prints names that are valid input', () => {
  const same = [aWorker(), aWorker({ id: 'w-2' }), aWorker({ id: 'w-3', name: 'other' })]
  expect(handlesOf(WORKER_VIEW, same)).toEqual(['w-0abcdefgh0001', 'w-2', 'other'])
  const hidden = aWorker({ id: 'w-4', name: 'invoice \u202efdp.exe' })
  expect(handlesOf(WORKER_VIEW, [hidden])).toEqual(['w-4'])
})

it('separates the documents of a watch', async () => {
  expect(await changeText(WORKER_VIEW, aWorker(), 'json')).not.toContain('\n')
  expect(await changeText(WORKER_VIEW, aWorker(), 'yaml')).toMatch(/^---\nid: w-0abcdefgh0001\n/)
  expect(await changeText(WORKER_VIEW, aWorker(), 'name')).toBe('metal-1')
})
