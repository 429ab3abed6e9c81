/** Words for the people of the node. Agents write to the owner and the administrators as one side. */
import { session } from '../owner.ts'

const isOwner = (): boolean => session.value?.user.role === 'owner'

/** Name of the people's side of a conversation. */
export const peopleSide = (): string => (isOwner() ? 'the owner' : "the owner's side")

/** {@link peopleSide}, to the person who reads. */
export const readerSide = (): string => (isOwner() ? 'you' : "the owner's side")

/** Title of the conversations between people and agents. */
export const withPeople = (): string => (isOwner() ? 'With you' : 'With people')

/** Role of the person who wrote a message. The node tells only the name of another person. */
export const roleOfWriter = (isMe: boolean): string =>
  isMe ? (isOwner() ? 'owner' : 'administrator') : "owner's side"
