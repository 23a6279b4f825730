/** Whom to talk to. Of `url` the port alone is used: a talk never leaves 127.0.0.1. */
export interface Target {
  readonly name: string
  readonly url: string
}

/** The bus secret or a turn token; `undefined` sends no Authorization at all. */
export interface Credentials {
  readonly bearer: string | undefined
}

export const portOf = ({ url }: Target): number => Number(new URL(url).port)
