/** Where the API announces changes, one key per resource, by the kind of resource. Controllers watch below these prefixes. */
export const CHANGE_KEYS = {
  workers: '/lcm/workers/',
  templates: '/lcm/templates/',
  settings: '/lcm/settings/',
  services: '/lcm/services/',
  definitions: '/lcm/definitions/',
  sessions: '/lcm/sessions/',
  labRecords: '/lcm/lab-records/',
} as const

/** Everything that the API announces is below this. */
export const CHANGE_KEY_ROOT = '/lcm/'
