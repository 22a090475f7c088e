import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

const aLab = async () => (await course.bind((await course.placed(workerId, 'INSTANTIATING')).id)).json.id as string

it('returns the lowest free ports, and the same again', async () => {
  const [one, two] = [await aLab(), await aLab()]
  expect((await course.ports(one, [2000, 2001])).json).toEqual({ ports: { r1_serial: 2002 } })
  expect((await course.ports(two)).json).toEqual({ ports: { r1_serial: 2000 } })
  expect((await course.ports(one)).json).toEqual({ ports: { r1_serial: 2002 } })
  expect((await course.get(workerId)).ports).toEqual({ [one]: { r1_serial: 2002 }, [two]: { r1_serial: 2000 } })
  expect((await course.lab(one)).ports).toEqual({ r1_serial: 2002 })
})

it('returns no port twice to 10 concurrent requests', async () => {
  const labs = []
  for (let n = 0; n < 10; n++) labs.push(await aLab())
  const answers = await Promise.all(labs.map(id => course.ports(id)))
  expect(new Set(answers.map(({ json }) => json.ports.r1_serial)).size).toBe(10)
})

it.each(['worker', 'lab_record'])('returns the same ports after a crash at the %s', async kind => {
  const id = await aLab()
  course.store.interrupt({ kind, write: 'replace', when: 'after', run: crash })
  expect((await course.ports(id)).status).toBe(503)
  expect((await course.ports(id)).json.ports).toEqual({ r1_serial: 2000 })
  expect((await course.lab(id)).ports).toEqual({ r1_serial: 2000 })
  expect(Object.keys((await course.get(workerId)).ports)).toEqual([id])
})

it('returns none when all are in use, and none for a deleted lab', async () => {
  const id = await aLab()
  const all = Array.from({ length: 6000 }, (_, n) => 2000 + n)
  expect((await course.ports(id, all)).json.code).toBe('no_capacity')
  await course.reportLab(id, { status: 'DELETED' })
  expect((await course.ports(id)).json.code).toBe('lab_gone')
})
