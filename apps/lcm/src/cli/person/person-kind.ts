import { readList } from '@lcm/client/list-pages'
import type { Person } from '@lcm/domain/person'
import { notThere, onlyOne } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { ageOf } from '../worker/worker-view.ts'

export const PERSON_VIEW: ResourceView<Person> = {
  nameOf: person => person.name,
  columns: nowMs => [
    { title: 'NAME', text: person => person.name },
    { title: 'ID', text: person => person.id },
    { title: 'ROLE', text: person => person.role },
    { title: 'EMAIL', text: person => person.email ?? '' },
    { title: 'GROUPS', text: person => person.groups.join(',') },
    { title: 'SOURCE', text: ({ merging_into, source }) => (merging_into === null ? source : `-> ${merging_into}`) },
    { title: 'AGE', text: person => ageOf(person.created_at, nowMs) },
  ],
  whenEmpty: 'no people found: create one with `lcm create person NAME --role ROLE`',
}

/** Polled, because people have no events. */
const READ_EVERY_MS = 15_000

export const PEOPLE: Kind<Person> = {
  plural: 'people',
  singular: 'person',
  view: PERSON_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, wanted, signal) {
    const { items } = await PEOPLE.list(client, true, signal)
    const byId = items.find(({ id }) => id === wanted)
    if (byId !== undefined) return byId
    const named = items.filter(({ name, email }) => name === wanted || email === wanted)
    if (named.length === 0) throw notThere('person', wanted, 'lcm get people')
    const line = ({ id, role, email }: Person) => `${id}  ${role}  ${email ?? ''}`.trimEnd()
    const isOver = ({ merging_into }: Person) => merging_into !== null
    return onlyOne(named, { name: wanted, singular: 'person', plural: 'people', isOver, line })
  },
  list: (client, _, signal) => readList(query => client.call('listPeople', { query, signal })),
  everyMs: READ_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}
