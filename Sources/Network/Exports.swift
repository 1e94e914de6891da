// Sources written for Apple's platforms import Network alone and use `DispatchQueue` all the same, because Apple's module passes
// Dispatch on.
@_exported public import Dispatch
