import { expect, it } from 'vitest'
import { OK } from '../http-messages.ts'
import { open, routerOf } from './route.ts'

const route = routerOf([
  open('GET /things/:id', () => OK('one')),
  open('GET /things/all', () => OK('all')),
  open('DELETE /things/:id', () => OK('gone')),
])
const found = (method: string, path: string) => {
  const match = route(method, path)
  return typeof match === 'string' ? match : [match.route.parts.join('/'), match.params]
}

it('prefers fixed paths to paths with parameters', () => {
  expect(found('GET', '/things/all')).toEqual(['things/all', {}])
  expect(found('GET', '/things/a%20b')).toEqual(['things/:id', { id: 'a b' }])
  expect(found('DELETE', '/things/all')).toEqual(['things/:id', { id: 'all' }])
})

it('distinguishes a wrong method from an unknown path', () => {
  expect(found('PUT', '/things/all')).toBe('wrong_method')
  expect(found('GET', '/things')).toBe('unknown')
  expect(found('GET', '/things/all/more')).toBe('unknown')
  expect(found('GET', '/things/%ff')).toEqual(['things/:id', { id: '%ff' }])
})
